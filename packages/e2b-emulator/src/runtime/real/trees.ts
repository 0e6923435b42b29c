import { lstatSync, readlinkSync } from 'node:fs'

/** One part of a machine's file system that is mounted by itself. */
export interface Tree {
  /** Directory name of this tree in every layer; short, because the names of all layers share one mount option. */
  readonly key: string
  /** Where it is mounted in the machine. */
  readonly target: string
  /** Directory of the host at the bottom, never written. */
  readonly host?: string
}

export interface HostLayout {
  /** Directories of programs and libraries; each is its own mount, because a layer cannot span two file systems. */
  readonly programTrees: readonly string[]
  /** `/bin -> usr/bin` and the like of a merged host. */
  readonly links: Readonly<Record<string, string>>
}

const programDirectories = ['usr', 'bin', 'sbin', 'lib', 'lib32', 'lib64', 'libx32']

/** Which of the usual program directories this host has, and which of them are links. */
export function readHostLayout(): HostLayout {
  const programTrees: string[] = []
  const links: Record<string, string> = {}
  for (const name of programDirectories) {
    const found = lstatSync(`/${name}`, { throwIfNoEntry: false })
    if (found?.isDirectory()) programTrees.push(name)
    else if (found?.isSymbolicLink()) links[name] = readlinkSync(`/${name}`)
  }
  return { programTrees, links }
}

/** With overlays every tree is writable: what a command writes below `/usr` lies in the machine's layer. */
export function overlayTrees(layout: HostLayout): readonly Tree[] {
  return [
    { key: 'r', target: '/' },
    ...layout.programTrees.map((name, index) => ({
      key: name === 'usr' ? 'u' : `t${index}`,
      target: `/${name}`,
      host: `/${name}`,
    })),
  ]
}

/** Without overlays the program directories are read-only binds; only `/` and `/usr/local` are the machine's own. */
export const copyTrees: readonly Tree[] = [
  { key: 'r', target: '/' },
  { key: 'l', target: '/usr/local' },
]
