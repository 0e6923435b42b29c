// Adds up vitest's JSON reports of all packages. Exits 1 where a test failed, a suite did not load or none ran.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const reports = ['packages', 'apps', 'internal']
  .flatMap((folder) => readdirSync(folder).map((entry) => join(folder, entry)))
  .filter((directory) => existsSync(join(directory, 'test')) && readdirSync(join(directory, 'test')).length > 0)
  .map((directory) => join(directory, '.vitest/report.json'))

let passed = 0
let failed = 0
let skipped = 0
for (const path of reports) {
  if (!existsSync(path)) {
    console.log(`no report: ${path}`)
    failed += 1
    continue
  }
  const report = JSON.parse(readFileSync(path, 'utf8'))
  passed += report.numPassedTests
  skipped += report.numPendingTests
  const brokenSuites = report.testResults.filter(
    (suite) => suite.status === 'failed' && suite.assertionResults.every((test) => test.status !== 'failed'),
  )
  failed += report.numFailedTests + brokenSuites.length
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
