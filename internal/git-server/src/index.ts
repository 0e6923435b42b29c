export { startGitServer } from './server.ts'
export type { GitServer, GitServerOptions, Interceptor, RecordedRequest } from './server.ts'
export { createRepository } from './repository.ts'
export type { Files, Repository, RepositoryOptions } from './repository.ts'
