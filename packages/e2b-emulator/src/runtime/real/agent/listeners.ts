import type { LoopbackAddress } from './contract.ts'
import type { Population } from './population.ts'

export interface Listeners {
  /**
   * The loopback address at which a connection to the port reaches a process of this machine, and no other of the host:
   * all machines and the host share one network. Undefined where none listens there.
   */
  find(port: number): LoopbackAddress | undefined
}

/** Tells whose sockets listen: the kernel lists those of the whole network, and the processes of this machine hold some. */
export function createListeners(population: Population): Listeners {
  const fs = process.getBuiltinModule('node:fs')
  const listening = '0A'
  const mapped = '0000000000000000FFFF0000'

  /** Sockets that listen on the port, as `/proc/net/tcp` has them: addresses are words, lowest byte first. */
  const listenersOn = (table: string, port: number) =>
    fs
      .readFileSync(table, 'utf8')
      .split('\n')
      .slice(1)
      .flatMap((line) => {
        const fields = line.trim().split(/\s+/)
        const [address = '', hexPort = ''] = (fields[1] ?? '').split(':')
        const inode = fields[9] ?? ''
        return fields[3] === listening && Number.parseInt(hexPort, 16) === port ? [{ address, inode }] : []
      })

  /** What a listing of a process that ended meanwhile, or of a kernel thread, throws counts as nothing. */
  // oxlint-disable-next-line unicorn/consistent-function-scoping -- nothing outside this factory reaches the machine
  const orNothing = <T>(read: () => T, nothing: T): T => {
    try {
      return read()
    } catch {
      return nothing
    }
  }

  const socketsHeldHere = (): Set<string> => {
    const held = new Set<string>()
    for (const pid of population.all()) {
      for (const fd of orNothing(() => fs.readdirSync(`/proc/${pid}/fd`), [])) {
        const target = orNothing(() => fs.readlinkSync(`/proc/${pid}/fd/${fd}`), '')
        const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1]
        if (inode !== undefined) held.add(inode)
      }
    }
    return held
  }

  /**
   * What a connection to each address reaches: sockets of that address, of any, and of the older protocol in the clothes
   * of the newer one.
   */
  const doors = [
    {
      address: '127.0.0.1',
      tables: {
        '/proc/net/tcp': ['0100007F', '00000000'],
        '/proc/net/tcp6': [`${mapped}0100007F`, `${mapped}00000000`],
      },
    },
    { address: '::1', tables: { '/proc/net/tcp6': ['00000000000000000000000001000000', '0'.repeat(32)] } },
  ] as const

  return {
    find(port) {
      let held: Set<string> | undefined
      for (const { address, tables } of doors) {
        const reached = Object.entries(tables).flatMap(([table, addresses]) =>
          // Where the kernel has no such protocol there is no table either.
          orNothing(() => listenersOn(table, port), []).filter((socket) => addresses.includes(socket.address)),
        )
        if (reached.length === 0) continue
        held ??= socketsHeldHere()
        const mine = held
        // Several may share a port, and the kernel would choose among them.
        if (reached.every(({ inode }) => mine.has(inode))) return address
      }
      return undefined
    },
  }
}
