import type { Platform } from '../platform.ts'
import type { TemplateRecord } from '../state.ts'

/** A new template of the team, without builds yet. A nameless one is known by its id alone. */
export function registerTemplate(
  platform: Platform,
  { name, source }: Pick<TemplateRecord, 'name' | 'source'>,
): TemplateRecord {
  const now = platform.clock.now()
  const template: TemplateRecord = {
    id: platform.identifiers.template(),
    owner: 'team',
    namespace: platform.team.slug,
    name,
    source,
    public: false,
    createdAt: now,
    updatedAt: now,
    lastSpawnedAt: undefined,
    spawnCount: 0,
    assignments: [],
  }
  platform.state.templates.set(template.id, template)
  return template
}
