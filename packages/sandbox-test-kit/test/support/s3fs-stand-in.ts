import type { E2BSandbox } from '@warmbox/sandbox'

const BOOK = '/var/mounts-of-stand-in'

/** A mount is a line in a book; the bucket called `broken` cannot be mounted. */
const programs = {
  s3fs: `case $1 in broken*) echo denied >&2; exit 7;; esac; printf '%s\\n' "$2" >>${BOOK}`,
  mountpoint: `grep -qxF -- "\${!#}" ${BOOK}`,
  umount: `grep -vxF -- "\${!#}" ${BOOK} >${BOOK}.new; mv ${BOOK}.new ${BOOK}`,
}

/** Stands in for s3fs, and for the programs that ask the kernel. */
export async function installStandIn({ e2b }: E2BSandbox): Promise<void> {
  await e2b.commands.run(`touch ${BOOK}`, { user: 'root' })
  for (const [name, body] of Object.entries(programs)) {
    const path = `/usr/local/bin/${name}`
    await e2b.files.write(path, `#!/bin/bash\n${body}\n`, { user: 'root' })
    await e2b.commands.run(`chmod 755 ${path}`, { user: 'root' })
  }
}
