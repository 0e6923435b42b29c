/** Ends a build; becomes the `reason` of its status. */
export class BuildFailure extends Error {
  readonly step: string | undefined

  constructor(message: string, options: { step?: string | undefined; cause?: unknown } = {}) {
    super(message, { cause: options.cause })
    this.name = 'BuildFailure'
    this.step = options.step
  }
}

export const cancelled = () => new BuildFailure('build was cancelled')

/** Aborts a build that had finished when it was cancelled: it turns ready, and its files are gone. */
export class FinishedWithoutFiles extends Error {
  constructor() {
    super('build finished while it was being cancelled')
    this.name = 'FinishedWithoutFiles'
  }
}
