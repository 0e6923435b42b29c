import type { Route } from './platform/route.ts'
import { unreachable } from './unreachable.ts'

const START = '<!-- matrix:start -->'
const END = '<!-- matrix:end -->'

/** The route table as a Markdown table, its columns aligned. */
export function supportMatrix(routes: readonly Route[]): string {
  const rows: readonly Row[] = [['Operation', 'Answered', 'Gap'], ...routes.map(describe)]
  const widths = [0, 1, 2].map((column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)))
  const line = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(' | ')} |`
  const [header = '', ...body] = rows.map(line)
  return [header, line(widths.map((width) => '-'.repeat(width))), ...body].join('\n')
}

type Row = readonly [operation: string, answered: string, gap: string]

function describe({ method, path, support }: Route): Row {
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
