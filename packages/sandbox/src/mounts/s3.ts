import type { E2BS3MountConfig } from './config.ts'
import {
  assertSpelling,
  bucketName,
  endpointUrl,
  isSwitchedOn,
  keyPrefix,
  oneLine,
  refuseMount,
  regionName,
} from './inputs.ts'
import { APT_INSTALL, type MountPlan } from './plan.ts'

const BUCKET = /^[a-zA-Z0-9][a-zA-Z0-9._-]{1,254}$/

const PARTS: Readonly<Record<keyof E2BS3MountConfig, true>> = {
  type: true,
  bucket: true,
  region: true,
  endpoint: true,
  accessKeyId: true,
  secretAccessKey: true,
  prefix: true,
  readOnly: true,
}

export function planS3(config: E2BS3MountConfig): MountPlan {
  assertSpelling(config, Object.keys(PARTS))
  const bucket = bucketName('bucket', config.bucket, BUCKET)
  const region = regionName(config.region)
  const endpoint = config.endpoint === undefined ? undefined : endpointUrl('endpoint', config.endpoint)
  const prefix = keyPrefix(config.prefix)
  const keys = keysOf(config)
  const isReadOnly = isSwitchedOn('readOnly', config.readOnly) || keys === undefined
  if (keys === undefined && endpoint !== undefined) {
    refuseMount('A bucket of another service than AWS needs credentials', 'Give accessKeyId and secretAccessKey')
  }
  const options = [
    // The region of the signature; s3fs calls it endpoint.
    `endpoint=${region}`,
    ...(endpoint === undefined ? [`url=https://s3.${region}.amazonaws.com`] : [`url=${endpoint}`]),
    // AWS has no certificate for a host name that begins with a bucket of several labels, others mostly none at all.
    ...(endpoint !== undefined || bucket.includes('.') ? ['use_path_request_style'] : []),
    'allow_other',
    ...(keys === undefined ? ['public_bucket=1'] : []),
    ...(isReadOnly ? ['ro'] : []),
  ]
  return {
    source: `s3://${bucket}${prefix === undefined ? '' : `/${prefix}`}`,
    program: 's3fs',
    installation: `apt-get update -qq && ${APT_INSTALL} s3fs`,
    command: ({ mountPath, credentialsFile, logFile, uid, gid }) => [
      's3fs',
      prefix === undefined ? bucket : `${bucket}:/${prefix}`,
      mountPath,
      ...[
        ...options,
        ...(keys === undefined ? [] : [`passwd_file=${credentialsFile}`]),
        `uid=${uid}`,
        `gid=${gid}`,
        `logfile=${logFile}`,
      ].flatMap((option) => ['-o', option]),
    ],
    credentials: keys === undefined ? undefined : () => `${keys.id}:${keys.secret}\n`,
    secrets: keys === undefined ? [] : [keys.secret],
  }
}

function keysOf({ accessKeyId, secretAccessKey }: E2BS3MountConfig): { id: string; secret: string } | undefined {
  if (!accessKeyId && !secretAccessKey) return undefined
  const id = oneLine('accessKeyId', accessKeyId)
  // The colon parts the two in s3fs's file.
  if (id.includes(':')) refuseMount('accessKeyId holds a colon', 'Give the id alone')
  return { id, secret: oneLine('secretAccessKey', secretAccessKey) }
}
