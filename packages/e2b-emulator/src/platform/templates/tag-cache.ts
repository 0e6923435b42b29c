import type { Platform } from '../platform.ts'
import type { PlatformState, ReadyBuild } from '../state.ts'

const LIFE_MS = 5 * 60 * 1000
const FRESH_MS = 60 * 1000

const keyOf = (templateId: string, tag: string) => `${templateId}:${tag}`

/**
 * The build that booting a tag gives: remembered for five minutes, refreshed behind the answer after one. Nobody notices
 * while whatever changes a tag calls {@link forgetTags}; a build that outlived its API process does not. Tags that
 * resolve to nothing are not remembered.
 */
export function rememberedBuild(
  platform: Platform,
  templateId: string,
  tag: string,
  resolve: () => ReadyBuild | undefined,
): ReadyBuild | undefined {
  const { tagCache } = platform.state
  const key = keyOf(templateId, tag)
  const now = platform.clock.now()
  const remembered = tagCache.get(key)
  const age = remembered === undefined ? LIFE_MS : now - remembered.at
  const current = age < FRESH_MS ? undefined : resolve()
  if (age >= FRESH_MS) {
    if (current === undefined) tagCache.delete(key)
    else tagCache.set(key, { ready: current, at: now })
  }
  return age < LIFE_MS ? remembered?.ready : current
}

/** What tags of a template resolve to has changed. */
export function forgetTags(state: PlatformState, templateId: string, tags: readonly string[]): void {
  for (const tag of tags) state.tagCache.delete(keyOf(templateId, tag))
}
