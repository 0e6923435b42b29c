import type { ApiClient } from 'e2b'
import { eventually, type Running } from './emulator.ts'

type Api = ApiClient['api']

/** Registers a build without starting it. */
export async function request(api: Api, name: string, tags?: string[]) {
  const { data, error, response } = await api.POST('/v3/templates', {
    body: tags === undefined ? { name } : { name, tags },
  })
  if (data === undefined) throw new Error(`${response.status}: ${error.message}`)
  return { templateID: data.templateID, buildID: data.buildID }
}

type Steps = { type: string; args?: string[] }[]

/** Starts a requested build and returns what the call answered. */
export async function start(api: Api, path: { templateID: string; buildID: string }, steps: Steps = []) {
  const { response, error } = await api.POST('/v2/templates/{templateID}/builds/{buildID}', {
    params: { path },
    body: { fromImage: 'e2bdev/base', steps },
  })
  return { response, error }
}

export async function status(api: Api, path: { templateID: string; buildID: string }) {
  const { data } = await api.GET('/templates/{templateID}/builds/{buildID}/status', { params: { path } })
  if (data === undefined) throw new Error('no status')
  return data
}

export const finished = (api: Api, path: { templateID: string; buildID: string }) =>
  eventually(async () => {
    const now = await status(api, path)
    return now.status === 'ready' || now.status === 'error' ? now : undefined
  })

/** Requests, starts and awaits a build. */
export async function build({ api }: Pick<Running, 'api'>, name: string, steps: Steps = [], tags?: string[]) {
  const requested = await request(api, name, tags)
  await start(api, requested, steps)
  return { ...requested, ...(await finished(api, requested)) }
}
