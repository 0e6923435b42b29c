import { readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'

export interface PublishedPackage {
  readonly name: string
  readonly directory: string
  /** Export sub-paths a consumer can import as code, `.` first. */
  readonly entryPoints: readonly string[]
  /** Names of the family's packages it depends on. */
  readonly below: readonly string[]
  readonly peers: readonly string[]
  /** Peers a user may leave out, with their ranges; entry points may need them. */
  readonly optionalPeers: Readonly<Record<string, string>>
}

interface Manifest {
  readonly name: string
  readonly private?: boolean
  readonly exports?: Readonly<Record<string, unknown>>
  readonly dependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
  readonly peerDependenciesMeta?: Readonly<Record<string, { readonly optional?: boolean }>>
}

/** Every package of the workspace that is published, by name. */
export async function readPublishedPackages(root: string): Promise<ReadonlyMap<string, PublishedPackage>> {
  const folder = join(root, 'packages')
  const found = await Promise.all(
    (await readdir(folder)).map(async (entry): Promise<PublishedPackage | undefined> => {
      const directory = join(folder, entry)
      const manifest: Manifest = JSON.parse(await readFile(join(directory, 'package.json'), 'utf8'))
      if (manifest.private === true) return undefined
      return {
        name: manifest.name,
        directory,
        entryPoints: Object.entries(manifest.exports ?? {}).flatMap(([path, target]) =>
          typeof target === 'object' ? [path] : [],
        ),
        below: Object.keys(manifest.dependencies ?? {}).filter((name) => name.startsWith('@warmbox/')),
        peers: Object.keys(manifest.peerDependencies ?? {}),
        optionalPeers: Object.fromEntries(
          Object.entries(manifest.peerDependencies ?? {}).filter(
            ([name]) => manifest.peerDependenciesMeta?.[name]?.optional === true,
          ),
        ),
      }
    }),
  )
  return new Map(found.flatMap((entry) => (entry === undefined ? [] : [[entry.name, entry] as const])))
}

/** `name` and all it stands on, lowest first. */
export function withPackagesBelow(
  packages: ReadonlyMap<string, PublishedPackage>,
  name: string,
  seen: Set<string> = new Set(),
): PublishedPackage[] {
  const start = packages.get(name)
  if (start === undefined || seen.has(name)) return []
  seen.add(name)
  return [...start.below.flatMap((dependency) => withPackagesBelow(packages, dependency, seen)), start]
}
