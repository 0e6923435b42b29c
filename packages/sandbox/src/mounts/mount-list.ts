import type { MountManager, WorkspaceFilesystem } from '@mastra/core/workspace'

/** Notes a mount in Mastra's list, which shows hosts what is mounted. A path that the list lacks is added. */
export function noteMount(
  list: MountManager,
  path: string,
  filesystem: WorkspaceFilesystem,
  result: { readonly success: boolean; readonly error?: string; readonly unavailable?: boolean },
): void {
  // Without the configuration, which holds credentials and is printed with the list.
  if (result.success) list.set(path, { filesystem, state: 'mounted' })
  else {
    const error = result.error ?? 'The mount failed'
    list.set(path, { filesystem, state: result.unavailable === true ? 'unavailable' : 'error', error })
  }
}

/** Has Mastra mount everything in its list at the next start again: a mount ends with the machine it was made in. */
export function expectMounts(list: MountManager): void {
  for (const [path, { filesystem, state }] of list.entries) {
    if (state === 'mounted' || state === 'mounting' || state === 'error')
      list.set(path, { filesystem, state: 'pending' })
  }
}
