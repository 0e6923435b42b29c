import { createHash } from 'node:crypto'
import { createServer } from 'node:http'
import { gzipSync } from 'node:zlib'

/** One package as a registry has it. */
interface Package {
  readonly name: string
  /** Path to content. */
  readonly files: Readonly<Record<string, string>>
}

export interface PackageServer {
  /** `package.json` and `package-lock.json` of a project that depends on every package. */
  readonly manifests: Readonly<Record<string, string>>
  close(): Promise<void>
}

const VERSION = '1.0.0'

/** Serves tarballs of packages on a free port of loopback, as a registry does to an install from a lockfile. */
export const servePackages = async (packages: readonly Package[]): Promise<PackageServer> => {
  // In npm's order, or an install would write the lockfile anew.
  const sorted = packages.toSorted((one, other) => one.name.localeCompare(other.name, 'en'))
  const tarballs = new Map(sorted.map(({ name, files }) => [`/${name}-${VERSION}.tgz`, gzipSync(archive(files))]))
  const server = createServer((request, response) => {
    const tarball = tarballs.get(request.url ?? '')
    response.writeHead(tarball === undefined ? 404 : 200).end(tarball)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject).listen(0, '127.0.0.1', resolve)
  })
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port')
  const project = {
    name: 'widgets',
    version: VERSION,
    private: true,
    dependencies: Object.fromEntries(sorted.map(({ name }) => [name, VERSION])),
  }
  const locked = [...tarballs].map(([path, tarball]) => [
    `node_modules${path.slice(0, -`-${VERSION}.tgz`.length)}`,
    {
      version: VERSION,
      resolved: `http://127.0.0.1:${address.port}${path}`,
      integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
    },
  ])
  const { name, version, dependencies } = project
  const lockfile = {
    name,
    version,
    lockfileVersion: 3,
    requires: true,
    packages: { '': { name, version, dependencies }, ...Object.fromEntries(locked) },
  }
  return {
    manifests: { 'package.json': asWritten(project), 'package-lock.json': asWritten(lockfile) },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

const asWritten = (value: object): string => `${JSON.stringify(value, undefined, 2)}\n`

const BLOCK = 512

/** A tar archive (ustar) of files below `package/`, where npm expects them. */
const archive = (files: Readonly<Record<string, string>>): Buffer =>
  Buffer.concat([
    ...Object.entries(files).flatMap(([path, text]) => {
      const content = Buffer.from(text)
      const padding = Buffer.alloc(-content.length & (BLOCK - 1))
      return [header(`package/${path}`, content.length), content, padding]
    }),
    Buffer.alloc(2 * BLOCK),
  ])

const header = (path: string, size: number): Buffer => {
  const block = Buffer.alloc(BLOCK)
  const octal = (value: number, offset: number, length: number) =>
    block.write(value.toString(8).padStart(length - 1, '0'), offset)
  block.write(path)
  octal(0o644, 100, 8)
  octal(0, 108, 8)
  octal(0, 116, 8)
  octal(size, 124, 12)
  octal(0, 136, 12)
  // The checksum counts its own field as spaces.
  block.write(' '.repeat(8), 148)
  block.write('0', 156)
  block.write('ustar\u000000', 257)
  octal(
    block.reduce((sum, byte) => sum + byte, 0),
    148,
    7,
  )
  return block
}
