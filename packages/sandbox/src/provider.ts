import type { SandboxProvider } from '@mastra/core/editor'
import type { E2BSandboxOptions } from './options.ts'
import { E2BSandbox } from './sandbox.ts'

/** The options that can be stored as JSON. What runs code, such as template builders and listeners, cannot. */
export interface E2BProviderConfig extends Pick<
  E2BSandboxOptions,
  | 'id'
  | 'sandboxId'
  | 'timeout'
  | 'env'
  | 'metadata'
  | 'lifecycle'
  | 'workingDirectory'
  | 'strictTemplate'
  | 'checkpointName'
  | 'seedCheckpointName'
  | 'domain'
  | 'apiUrl'
  | 'sandboxUrl'
  | 'apiKey'
  | 'accessToken'
> {
  /** Ref of a template, such as `base` or `name:tag`. */
  template?: string | undefined
}

const text = (title: string, description: string) => ({ type: 'string', title, description })

/**
 * Lets Mastra's editor offer E2B sandboxes: `new MastraEditor({ sandboxes: { [e2bSandboxProvider.id]: e2bSandboxProvider } })`.
 * What is stored is checked when a sandbox is made of it.
 */
export const e2bSandboxProvider: SandboxProvider<E2BProviderConfig> = {
  id: 'e2b',
  name: 'E2B',
  description: 'Virtual machines in the cloud that are found again, running or paused',
  configSchema: {
    type: 'object',
    additionalProperties: false,
    properties: {
      id: text('Logical id', 'Sessions with the same id share one sandbox'),
      sandboxId: text('Sandbox id', 'E2B id of a sandbox to take over'),
      template: text('Template', 'Ref of a template; without one the default template is built once'),
      timeout: {
        type: 'integer',
        title: 'Timeout',
        description: 'Time to live without renewal, in milliseconds',
        minimum: 1,
        maximum: 86_400_000,
        default: 300_000,
      },
      env: {
        type: 'object',
        title: 'Environment',
        description: 'Environment variables of every process',
        additionalProperties: { type: 'string' },
      },
      metadata: {
        type: 'object',
        title: 'Metadata',
        description: 'Stored with the sandbox',
        additionalProperties: true,
      },
      lifecycle: {
        type: 'object',
        title: 'Lifecycle',
        description: 'What happens at the timeout',
        required: ['onTimeout'],
        additionalProperties: false,
        properties: {
          onTimeout: { enum: ['pause', 'kill'], default: 'pause' },
          autoResume: { type: 'boolean', default: false },
        },
      },
      workingDirectory: text('Working directory', 'Absolute directory in which commands start'),
      strictTemplate: {
        type: 'boolean',
        title: 'Strict template',
        description: 'A template that does not exist is an error',
        default: false,
      },
      checkpointName: text('Checkpoint', 'Boot from this checkpoint where it exists, and write snapshots to it'),
      seedCheckpointName: text('Seed checkpoint', 'Boot from this checkpoint where there is no other'),
      domain: text('Domain', 'Domain of the E2B installation'),
      apiUrl: text('API URL', 'URL of the control plane'),
      sandboxUrl: text('Sandbox URL', 'URL under which sandboxes are reached'),
      apiKey: { ...text('API key', 'E2B_API_KEY of the host where absent'), writeOnly: true },
      accessToken: { ...text('Access token', 'Not used any more: give an API key'), deprecated: true, writeOnly: true },
    },
  },
  createSandbox: (config) => new E2BSandbox(config),
}
