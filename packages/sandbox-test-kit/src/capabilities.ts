/** What a provider may or may not be able to do. What no name stands for here is demanded of every provider. */
export type SandboxCapability =
  /** `start` says whether it created or connected. */
  | 'start-outcome'
  /** `start` ends for an abort signal. */
  | 'start-abort'
  /** Files survive `stop` and the next `start`. */
  | 'resume'
  /** After `destroy` a sandbox of the same id is empty. */
  | 'destroy-removes-files'
  /** Another instance with the same id finds the sandbox. */
  | 'reconnect'
  | 'clone'
  | 'set-env'
  | 'working-directory'
  /** A command that reads stdin sees its end at once. */
  | 'stdin-ignore'
  /** A command can be given a limit of retained output. */
  | 'retained-output'
  /** Background processes: `processes` is there. */
  | 'processes'
  | 'send-stdin'
  | 'close-stdin'
  /** A process is found and followed by another instance with the same id. */
  | 'process-reattach'
  | 'write-files'
  | 'file-modes'
  /** `writeFiles` rejects for a signal that has fired. */
  | 'write-abort'
  | 'mount'
  /** A mounted directory shows the files of its file system; stand-ins for mount programs need not. */
  | 'mount-content'
  | 'checkpoints'
  | 'networking'

/** For each capability `true`, or the reason why the provider lacks it, which the name of the skipped test repeats. */
export type SandboxCapabilities = Readonly<Record<SandboxCapability, true | string>>
