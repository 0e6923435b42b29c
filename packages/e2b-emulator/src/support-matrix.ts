import { envdOperations } from './envd/index.ts'
import type { Route } from './platform/route.ts'
import { ROUTES } from './platform/routes.ts'
import { unreachable } from './unreachable.ts'

const START = '<!-- matrix:start -->'
const END = '<!-- matrix:end -->'

/** What a row of the matrix is made of. */
type Operation = Pick<Route, 'method' | 'path' | 'support'>

/** Both planes as Markdown tables, from the tables that answer them. */
export function supportMatrix(): string {
  return ['Control plane:', table(ROUTES), 'The daemon in sandboxes:', table(envdOperations)].join('\n\n')
}

/** Its columns aligned, as the formatter would. */
function table(operations: readonly Operation[]): string {
  const rows: readonly Row[] = [['Operation', 'Answered', 'Gap'], ...operations.map(describe)]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [header = '', ...body] = rows.map(line)
  return [header, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')
}

type Row = readonly [operation: string, answered: string, gap: string]

function describe({ method, path, support }: Operation): Row {
  const operation = `\`${method.toUpperCase()} ${path}\``
  switch (support.level) {
    case 'full':
      return [operation, 'yes', '']
    case 'partial':
      return [operation, 'yes', support.gap]
    case 'none':
      return [operation, '501', support.reason]
    default:
      return unreachable(support)
  }
}

/** The text with what stands between the markers replaced. */
export function withMatrix(text: string, matrix: string): string {
  const start = text.indexOf(START)
  const end = text.indexOf(END)
  if (start === -1 || end < start) throw new TypeError(`the text must contain ${START} and, after it, ${END}`)
  return `${text.slice(0, start + START.length)}\n\n${matrix}\n\n${text.slice(end)}`
}
