import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { OutputLines } from '../../src/build/output-lines.ts'

function linesOf(pieces: readonly Uint8Array[]): string[] {
  const lines: string[] = []
  const output = new OutputLines((line) => lines.push(line))
  for (const piece of pieces) output.add(piece)
  output.flush()
  return lines
}

test('lines are the same however the bytes are cut, inside of characters too [B39]', () => {
  const text = fc
    .array(fc.string({ unit: 'grapheme', maxLength: 5 }), { maxLength: 6 })
    .map((lines) => lines.join('\n'))
  fc.assert(
    fc.property(text, fc.array(fc.nat(40)), (whole, cuts) => {
      const bytes = Buffer.from(whole)
      const places = [0, ...cuts.filter((cut) => cut < bytes.length).toSorted((a, b) => a - b), bytes.length]
      const pieces = places.slice(1).map((place, index) => bytes.subarray(places[index], place))
      const lines = whole.split('\n')
      expect(linesOf(pieces)).toEqual(lines.at(-1) === '' ? lines.slice(0, -1) : lines)
    }),
  )
})

test('a line that goes on and on comes in pieces', () => {
  const lines = linesOf(Array.from({ length: 5 }, () => Buffer.alloc(40 * 1024, 'x')))
  expect(lines.map((line) => line.length)).toEqual([80 * 1024, 80 * 1024, 40 * 1024])
})

test('what follows a flush begins a line', () => {
  const lines: string[] = []
  const output = new OutputLines((line) => lines.push(line))
  output.add(Buffer.from('login: '))
  output.flush()
  output.add(Buffer.from('welcome\n'))
  expect(lines).toEqual(['login: ', 'welcome'])
})
