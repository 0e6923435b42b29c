import type { TemplateApi } from '@warmbox/resolution'

/**
 * The same account, but nothing is changed there until `gate` opens: questions are asked at once, builds and tags wait.
 * A signal that was aborted meanwhile keeps the change from being made.
 */
export function gateChanges(api: TemplateApi, gate: Promise<void>): TemplateApi {
  const afterGate = async <T>(signal: AbortSignal | undefined, change: () => Promise<T>): Promise<T> => {
    await gate
    signal?.throwIfAborted()
    return change()
  }
  return {
    get scope() {
      return api.scope
    },
    status: (ref, signal) => api.status(ref, signal),
    templateId: (name, signal) => api.templateId(name, signal),
    tags: (name, signal) => api.tags(name, signal),
    buildProgress: (build, logsOffset, signal) => api.buildProgress(build, logsOffset, signal),
    requestBuild: (request, signal) => afterGate(signal, () => api.requestBuild(request, signal)),
    startBuild: (build, request, signal) => afterGate(signal, () => api.startBuild(build, request, signal)),
    assignTags: (ref, tags, signal) => afterGate(signal, () => api.assignTags(ref, tags, signal)),
  }
}
