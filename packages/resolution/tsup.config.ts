import { library } from '../../tsup.shared.ts'

export default library({ index: 'src/index.ts', redis: 'src/redis.ts', opentelemetry: 'src/opentelemetry.ts' })
