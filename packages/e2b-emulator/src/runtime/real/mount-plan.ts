import { RuntimeError } from '../port.ts'
import { copyTrees, overlayTrees, type HostLayout, type Tree } from './trees.ts'

/**
 * How images and machines are kept, best first: as layers; as copies, those of machines in memory while they fit there;
 * as copies.
 */
export type Storage = 'overlay' | 'tmpfs' | 'copy'

/** The directory that becomes the machine's root; it exists on every host, and covering it hides nothing we read. */
export const stage = '/tmp'

const devices = ['null', 'zero', 'full', 'random', 'urandom', 'tty']
export const deviceFiles: readonly string[] = devices

/** The layer every image ends in. */
export const baseLayer = 'base'

/** A page, less what the other options and the kernel need. */
const longestOptions = 3_900

/**
 * How a machine's root is put together, as lines of an fstab that one `mount --all` carries out inside the new mount
 * namespace. All sources are relative to the runtime's directory: the machine's root user may not be able to walk the
 * path to it, and short names leave room for many layers.
 */
export interface MountPlan {
  readonly storage: Storage
  readonly trees: readonly Tree[]
  /** `directory`: the machine's own, holding `<tree>/u` (what it writes) and `<tree>/w`. `layers`: top first. */
  machine(directory: string, layers: readonly string[]): string
  /** Before those mounts: copies the image (one layer) into memory, of which it may take so much. Shell commands. */
  intoMemory(directory: string, layer: string, bytes: number): string
  /** Names at the top of the root that no image holds, because they are mounted. */
  readonly mounted: readonly string[]
  /** What an image holds beyond the host's programs and the base's additions to them, read-only and without devices. */
  inspection(layers: readonly string[]): string
  /** Arguments that make one layer of these (top first, none of them the base) by `flattenScript`. */
  flattening(layers: readonly string[]): readonly string[]
}

export function createMountPlan(storage: Storage, layout: HostLayout, singleUser: boolean): MountPlan {
  const trees = storage === 'overlay' ? overlayTrees(layout) : copyTrees
  return {
    storage,
    trees,
    machine: (directory, layers) =>
      [
        ...(storage === 'overlay'
          ? trees.map((tree) => {
              const lower = [...layers.map((layer) => `${layer}/${tree.key}`), ...(tree.host ? [tree.host] : ['empty'])]
              const own = `${directory}/${tree.key}`
              return overlay(tree, [
                `lowerdir=${lower.join(':')}`,
                `upperdir=${own}/u`,
                `workdir=${own}/w`,
                // Nobody reads a machine's layer after a crash of the host, so it need not be synced.
                'volatile',
              ])
            })
          : copyLines(directory, layout)),
        ...systemLines(singleUser),
      ].join('\n'),
    intoMemory: (directory, layer, bytes) => {
      const memory = `${directory}/memory`
      const copies = trees.map(({ key }) => {
        const own = `${directory}/${key}`
        return `mkdir ${own} ${memory}/${key}; cp -a ${layer}/${key} ${memory}/${key}/u; mount --bind ${memory}/${key} ${own}`
      })
      return [`mkdir ${memory}; mount -t tmpfs -o size=${bytes},mode=755 tmpfs ${memory}`, ...copies, ''].join('\n')
    },
    mounted: ['dev', 'proc', ...layout.programTrees],
    inspection: (layers) =>
      trees
        .map((tree) => ({
          tree,
          lower: layers
            .filter((layer) => tree.target === '/' || layer !== baseLayer)
            .map((layer) => `${layer}/${tree.key}`),
        }))
        .filter(({ lower }) => lower.length > 0)
        // Without an upper directory an overlay wants two lower ones.
        .map(({ tree, lower }) => overlay(tree, [`lowerdir=${[...lower, 'empty'].join(':')}`]))
        .join('\n'),
    flattening: (layers) => [
      layers.join(' '),
      ...trees.flatMap(({ key, host }) => {
        const below = [`${baseLayer}/${key}`, host ?? 'empty']
        return [key, [...layers.map((layer) => `${layer}/${key}`), ...below].join(':'), below.join(':')]
      }),
    ],
  }
}

function overlay(tree: Tree, options: readonly string[]): string {
  const all = ['userxattr', ...options].join(',')
  if (all.length > longestOptions)
    throw new RuntimeError(
      'failed',
      `the image has more layers than a mount can take (${longestOptions} bytes of names)`,
    )
  return `overlay ${staged(tree.target)} overlay ${all} 0 0`
}

function copyLines(directory: string, layout: HostLayout): string[] {
  const [root, local] = copyTrees
  return [
    bind(`${directory}/${root?.key}/u`, stage, 'bind'),
    ...layout.programTrees.map((name) => bind(`/${name}`, staged(`/${name}`), 'bind,ro')),
    bind(`${directory}/${local?.key}/u`, staged('/usr/local'), 'bind'),
  ]
}

function systemLines(singleUser: boolean): string[] {
  return [
    `proc ${staged('/proc')} proc nosuid,nodev,noexec 0 0`,
    // Group 5 is `tty`, which a single mapped id cannot give anything to.
    `devpts ${staged('/dev/pts')} devpts newinstance,ptmxmode=0666,mode=620${singleUser ? '' : ',gid=5'} 0 0`,
    `tmpfs ${staged('/dev/shm')} tmpfs nosuid,nodev,mode=1777 0 0`,
    ...devices.map((name) => bind(`/dev/${name}`, staged(`/dev/${name}`), 'bind')),
  ]
}

const staged = (target: string) => (target === '/' ? stage : stage + target)

const bind = (source: string, target: string, options: string) => `${source} ${target} none ${options} 0 0`
