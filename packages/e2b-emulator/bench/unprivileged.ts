/** Run as a user without privileges: prints the p50 of `Sandbox.create` there. */
import { creation } from './creation.ts'
import { withEmulator } from './subject.ts'

console.log(await withEmulator(undefined, (connection) => creation(connection, { rounds: 10 })))
