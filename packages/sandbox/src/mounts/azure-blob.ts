import type { E2BAzureBlobMountConfig } from './config.ts'
import { assertSpelling, bucketName, endpointUrl, isSwitchedOn, keyPrefix, oneLine, refuseMount } from './inputs.ts'
import { APT_INSTALL, type MountPlan } from './plan.ts'

const CONTAINER = /^(?:\$root|\$web|[a-z0-9](?:[a-z0-9]|-(?!-)){1,61}[a-z0-9])$/
const ACCOUNT = /^[a-z0-9]{3,24}$/

/** Microsoft publishes blobfuse2 in a repository of its own, described by a package for each release. */
const INSTALLATION = [
  `apt-get update -qq && ${APT_INSTALL} ca-certificates curl fuse3`,
  '. /etc/os-release',
  'source=$(mktemp --suffix=.deb)',
  'curl -fsSL --retry 3 "https://packages.microsoft.com/config/$ID/$VERSION_ID/packages-microsoft-prod.deb" -o "$source"',
  'dpkg -i "$source"',
  'rm -f "$source"',
  `apt-get update -qq && ${APT_INSTALL} blobfuse2`,
].join(' && ')

const PARTS: Readonly<Record<keyof E2BAzureBlobMountConfig, true>> = {
  type: true,
  container: true,
  accountName: true,
  accountKey: true,
  sasToken: true,
  connectionString: true,
  useDefaultCredential: true,
  endpoint: true,
  prefix: true,
  readOnly: true,
}

export function planAzureBlob(config: E2BAzureBlobMountConfig): MountPlan {
  assertSpelling(config, Object.keys(PARTS))
  const container = bucketName('container', config.container, CONTAINER)
  const prefix = keyPrefix(config.prefix)
  const { account, access, endpoint } = accountOf(config)
  const isReadOnly = isSwitchedOn('readOnly', config.readOnly)
  return {
    source: `azure://${account}/${container}${prefix === undefined ? '' : `/${prefix}`}`,
    program: 'blobfuse2',
    installation: INSTALLATION,
    command: ({ mountPath, credentialsFile }) => ['blobfuse2', 'mount', mountPath, `--config-file=${credentialsFile}`],
    // JSON is YAML, and no value needs a thought about YAML's quoting.
    credentials: ({ cacheDirectory, logFile, uid, gid }) =>
      JSON.stringify({
        'allow-other': true,
        'read-only': isReadOnly,
        logging: { type: 'base', level: 'log_err', 'file-path': logFile },
        components: ['libfuse', 'file_cache', 'attr_cache', 'azstorage'],
        libfuse: { 'default-permission': 0o777, uid, gid },
        file_cache: { path: cacheDirectory, 'timeout-sec': 120 },
        attr_cache: { 'timeout-sec': 120 },
        azstorage: {
          type: 'block',
          'account-name': account,
          container,
          endpoint,
          ...access.fields,
          ...(prefix === undefined ? {} : { subdirectory: prefix }),
        },
      }),
    secrets: access.secrets,
  }
}

interface Access {
  readonly fields: Readonly<Record<string, string>>
  readonly secrets: readonly string[]
}

interface Account {
  readonly account: string
  readonly access: Access
  readonly endpoint: string
}

function accountOf(config: E2BAzureBlobMountConfig): Account {
  const connection = connectionParts(config.connectionString)
  const account = oneLine('accountName', config.accountName ?? connection.get('accountname'))
  if (!ACCOUNT.test(account)) refuseMount('accountName is no storage account', 'Give 3 to 24 of a-z and 0-9')
  const given = config.endpoint ?? connection.get('blobendpoint')
  const suffix = connection.get('endpointsuffix') ?? 'core.windows.net'
  const endpoint = endpointUrl('endpoint', given ?? `https://${account}.blob.${suffix}`)
  return { account, endpoint, access: accessOf(config, connection) }
}

function accessOf(config: E2BAzureBlobMountConfig, connection: ReadonlyMap<string, string>): Access {
  if (isSwitchedOn('useDefaultCredential', config.useDefaultCredential)) return { fields: { mode: 'msi' }, secrets: [] }
  const ownToken = config.sasToken
  const ownKey = ownToken === undefined ? config.accountKey : undefined
  const isStated = ownToken !== undefined || ownKey !== undefined
  const token = ownToken ?? (isStated ? undefined : connection.get('sharedaccesssignature'))
  if (token !== undefined) {
    const sas = oneLine('sasToken', token).replace(/^\?/, '')
    return { fields: { mode: 'sas', sas }, secrets: [sas, ...signatureOf(sas)] }
  }
  const key = ownKey ?? connection.get('accountkey')
  if (key === undefined) {
    return refuseMount(
      'An Azure Blob container needs credentials',
      'Give useDefaultCredential, sasToken, accountKey or connectionString',
    )
  }
  return { fields: { mode: 'key', 'account-key': oneLine('accountKey', key) }, secrets: [key] }
}

/** The part of a token that makes it one; error messages of the service quote URLs in pieces. */
const signatureOf = (sas: string): readonly string[] => {
  const signature = new URLSearchParams(sas).get('sig')
  return signature === null ? [] : [signature]
}

/** Keys in lower case: the service takes them in any case. */
function connectionParts(text: string | undefined): ReadonlyMap<string, string> {
  if (text === undefined) return new Map()
  return new Map(
    oneLine('connectionString', text)
      .split(';')
      .filter((part) => part !== '')
      .map((part): [string, string] => {
        const at = part.indexOf('=')
        return at < 1
          ? refuseMount('connectionString has a part without a value', 'Copy it whole from the portal')
          : [part.slice(0, at).trim().toLowerCase(), part.slice(at + 1).trim()]
      }),
  )
}
