import { createAccounts, createFailures } from './accounts.ts'
import { createAttributes } from './attributes.ts'
import { createBodies } from './bodies.ts'
import type { AgentSettings } from './contract.ts'
import { createFiles } from './files.ts'
import { createListeners } from './listeners.ts'
import { runAgent, type AgentParts } from './main.ts'
import { findMarked } from './marked.ts'
import { createPipes } from './pipes.ts'
import { createPopulation } from './population.ts'
import { createProcesses } from './processes.ts'
import { createProtocol } from './protocol.ts'
import { createStarter } from './starter.ts'
import { createTerminals } from './terminals.ts'
import { createUnpacker } from './unpack.ts'
import { createUsage } from './usage.ts'
import { createWatching } from './watch.ts'

/**
 * The program that runs inside a machine, as source text for `node -`.
 *
 * Text, because the machine sees no file of this package and a bundler may have put the package anywhere; made from
 * the functions themselves, so that it is type-checked like everything else. Works as long as each of those functions
 * is self-contained, which the tests of the runtime run into at once where it is broken.
 */
export function agentProgram(settings: AgentSettings, channel: number): string {
  const parts: AgentParts = {
    createProtocol,
    createFailures,
    createBodies,
    createAccounts,
    findMarked,
    createPopulation,
    createPipes,
    createTerminals,
    createStarter,
    createProcesses,
    createAttributes,
    createFiles,
    createUnpacker,
    createListeners,
    createUsage,
    createWatching,
  }
  const factories = Object.entries(parts).map(([name, factory]) => `${name}: ${String(factory)}`)
  return [
    // A bundler that keeps function names wraps functions in a helper of this name.
    'const __name = (value) => value;',
    `const parts = {\n${factories.join(',\n')}\n};`,
    `(${String(runAgent)})(parts, ${JSON.stringify(settings)}, ${JSON.stringify(channel)});`,
  ].join('\n')
}
