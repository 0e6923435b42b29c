import type { MessageInitShape } from '@bufbuild/protobuf'
import type { ProcessEventSchema } from '../generated/process/process_pb.ts'
import type { ProcessExit } from '../../runtime/port.ts'
import type { ProcessNews } from './running-process.ts'

type Event = MessageInitShape<typeof ProcessEventSchema>

/** The wire form of what happened to a process. */
export function eventOf(news: ProcessNews): Event {
  if (news.kind === 'exit') return { event: { case: 'end', value: endOf(news.exit) } }
  const { stream, data } = news.output
  return { event: { case: 'data', value: { output: { case: stream, value: data } } } }
}

/** An error is stated exactly where the exit is no success, in the words of the status. */
function endOf({ exitCode, exited, status }: ProcessExit) {
  return { exitCode, exited, status, ...(exitCode === 0 ? {} : { error: status }) }
}
