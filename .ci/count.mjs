// Adds up vitest's JSON reports of all packages and repeats what failed, which may lie far up in the output. Exits 1 where a
// test failed, a suite did not load or none ran.
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'

const reports = ['packages', 'apps', 'internal']
  .flatMap((folder) => readdirSync(folder).map((entry) => join(folder, entry)))
  .filter((directory) => existsSync(join(directory, 'test')) && readdirSync(join(directory, 'test')).length > 0)
  // A suite that ran more than once, as another user for example, has further reports beside the first.
  .flatMap((directory) => [
    join(directory, '.vitest/report.json'),
    ...furtherReports(join(directory, '.vitest')).map((name) => join(directory, '.vitest', name)),
  ])

function furtherReports(folder) {
  return existsSync(folder) ? readdirSync(folder).filter((name) => /^report-.+\.json$/.test(name)) : []
}

function tell(file, name, message = '') {
  console.log(`failed: ${relative('.', file)}: ${name}`)
  for (const line of message.split('\n').slice(0, 12)) console.log(`  ${line}`)
}

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
  for (const suite of report.testResults) {
    for (const test of suite.assertionResults) {
      if (test.status === 'failed') tell(suite.name, test.fullName, test.failureMessages?.join('\n'))
    }
  }
  const brokenSuites = report.testResults.filter(
    (suite) => suite.status === 'failed' && suite.assertionResults.every((test) => test.status !== 'failed'),
  )
  for (const suite of brokenSuites) tell(suite.name, 'the suite itself', suite.message)
  failed += report.numFailedTests + brokenSuites.length
}
console.log(`${passed} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`)
process.exitCode = failed > 0 || passed === 0 ? 1 : 0
