import { badRequest } from './api-error.ts'

/** A whole number of a query string; undefined where it is not given, 400 where it is no such number. */
export function integerQuery(
  name: string,
  text: string | undefined,
  range: { minimum: number; maximum?: number },
): number | undefined {
  if (text === undefined || text === '') return undefined
  const { minimum, maximum = Number.MAX_SAFE_INTEGER } = range
  const value = Number(text)
  if (!Number.isInteger(value) || value < minimum || value > maximum) {
    throw badRequest(
      `validation error: parameter "${name}" in query has an error: must be an integer from ${minimum}` +
        (range.maximum === undefined ? '' : ` to ${maximum}`),
    )
  }
  return value
}

/** One page of a list whose items are in their final order. */
export interface Page<T> {
  readonly items: readonly T[]
  readonly headers: Readonly<Record<string, string>>
}

/** Sorts by key and cuts one page. The cursor holds the key of the last item of the page before, and the order it belongs to. */
export function paginate<T>(
  items: readonly T[],
  options: {
    /** `time__id`: unique, and in the order wanted when compared as text. */
    keyOf: (item: T) => string
    order: 'asc' | 'desc'
    limit: number
    nextToken: string | undefined
  },
): Page<T> {
  const { keyOf, order, limit, nextToken } = options
  const sign = order === 'asc' ? 1 : -1
  const compare = (left: string, right: string) => (left === right ? 0 : left < right ? -sign : sign)
  const cursor = nextToken === undefined || nextToken === '' ? undefined : decodeCursor(nextToken, order)
  const rest = items
    .toSorted((left, right) => compare(keyOf(left), keyOf(right)))
    .filter((item) => cursor === undefined || compare(keyOf(item), cursor) > 0)
  const page = rest.slice(0, limit)
  const last = page.at(-1)
  const more = rest.length > page.length && last !== undefined
  return { items: page, headers: more ? { 'X-Next-Token': encodeCursor(keyOf(last), order) } : {} }
}

const ASCENDING_MARK = '__asc'

const encodeCursor = (key: string, order: 'asc' | 'desc') =>
  Buffer.from(order === 'asc' ? key + ASCENDING_MARK : key).toString('base64')

function decodeCursor(token: string, order: 'asc' | 'desc'): string {
  const text = Buffer.from(token, 'base64').toString('utf8')
  const ascending = text.endsWith(ASCENDING_MARK)
  if (!text.includes('__') || ascending !== (order === 'asc')) throw badRequest('Invalid next token')
  return ascending ? text.slice(0, -ASCENDING_MARK.length) : text
}
