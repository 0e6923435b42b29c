import type { E2BGCSMountConfig } from './config.ts'
import { assertSpelling, bucketName, isSwitchedOn, keyPrefix, refuseMount } from './inputs.ts'
import { APT_INSTALL, type MountPlan } from './plan.ts'

const BUCKET = /^[a-z0-9][a-z0-9._-]{1,221}$/

/** Google publishes gcsfuse in a repository of its own, one suite for each Debian and Ubuntu release. */
const INSTALLATION = [
  `apt-get update -qq && ${APT_INSTALL} ca-certificates curl fuse3`,
  'install -d -m 755 /etc/apt/keyrings',
  'curl -fsSL --retry 3 https://packages.cloud.google.com/apt/doc/apt-key.gpg -o /etc/apt/keyrings/gcsfuse.asc',
  '. /etc/os-release',
  'echo "deb [signed-by=/etc/apt/keyrings/gcsfuse.asc] https://packages.cloud.google.com/apt gcsfuse-$VERSION_CODENAME main" > /etc/apt/sources.list.d/gcsfuse.list',
  `apt-get update -qq && ${APT_INSTALL} gcsfuse`,
].join(' && ')

const PARTS: Readonly<Record<keyof E2BGCSMountConfig, true>> = {
  type: true,
  bucket: true,
  serviceAccountKey: true,
  prefix: true,
  readOnly: true,
}

export function planGcs(config: E2BGCSMountConfig): MountPlan {
  assertSpelling(config, Object.keys(PARTS))
  const bucket = bucketName('bucket', config.bucket, BUCKET)
  const prefix = keyPrefix(config.prefix)
  const key = config.serviceAccountKey === undefined ? undefined : serviceAccount(config.serviceAccountKey)
  const isReadOnly = isSwitchedOn('readOnly', config.readOnly) || key === undefined
  return {
    source: `gs://${bucket}${prefix === undefined ? '' : `/${prefix}`}`,
    program: 'gcsfuse',
    installation: INSTALLATION,
    command: ({ mountPath, credentialsFile, logFile, uid, gid }) => [
      'gcsfuse',
      ...(key === undefined ? ['--anonymous-access'] : [`--key-file=${credentialsFile}`]),
      ...(prefix === undefined ? [] : [`--only-dir=${prefix}`]),
      '--implicit-dirs',
      `--uid=${uid}`,
      `--gid=${gid}`,
      `--log-file=${logFile}`,
      '-o',
      'allow_other',
      ...(isReadOnly ? ['-o', 'ro'] : []),
      bucket,
      mountPath,
    ],
    credentials: key === undefined ? undefined : () => key.text,
    secrets: key === undefined ? [] : key.secrets,
  }
}

function serviceAccount(text: unknown): { text: string; secrets: readonly string[] } {
  const key = typeof text === 'string' ? parsed(text) : undefined
  if (typeof text !== 'string' || typeof key !== 'object' || key === null) {
    return refuseMount('serviceAccountKey is no JSON object', 'Give the content of the key file, not its path')
  }
  const privateKey = 'private_key' in key && typeof key.private_key === 'string' ? [key.private_key] : []
  return { text, secrets: [text, ...privateKey] }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    // The parser quotes what it was given, which is a secret; the caller says what is wrong.
    return undefined
  }
}
