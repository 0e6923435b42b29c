import { Filesystem } from './generated/filesystem/filesystem_pb.ts'
import { Process } from './generated/process/process_pb.ts'
import { httpRoutes } from './http/routes.ts'

/** How much of one operation of envd is emulated. */
interface EnvdOperation {
  readonly method: 'get' | 'post'
  readonly path: string
  readonly support:
    | { readonly level: 'full' }
    | { readonly level: 'partial'; readonly gap: string }
    | { readonly level: 'none'; readonly reason: string }
}

const gaps: Readonly<Record<string, string>> = {
  '/metrics': 'a scripted machine measures nothing; no page cache is told',
  '/process.Process/Start': 'a scripted terminal is a row of the table; it draws nothing by itself',
}

/** Every operation of envd that clients may call, in the order of its parts; for the support matrix. */
export const envdOperations: readonly EnvdOperation[] = [
  ...[...httpRoutes.keys()].map((route): EnvdOperation => {
    const [method, path = ''] = route.split(' ')
    return { method: method === 'GET' ? 'get' : 'post', path, support: supportOf(gaps[route] ?? gaps[path]) }
  }),
  ...[Process, Filesystem].flatMap((service) =>
    service.methods.map(({ name }): EnvdOperation => {
      const path = `/${service.typeName}/${name}`
      return { method: 'post', path, support: supportOf(gaps[path]) }
    }),
  ),
]

function supportOf(gap: string | undefined): EnvdOperation['support'] {
  return gap === undefined ? { level: 'full' } : { level: 'partial', gap }
}
