import type { FilesystemMountConfig } from '@mastra/core/workspace'

/**
 * An S3 bucket, or one of a service that speaks S3 (R2, MinIO, ...), mounted with s3fs. Without credentials the bucket
 * is mounted read-only as a public one, which only AWS offers.
 */
export interface E2BS3MountConfig extends FilesystemMountConfig {
  type: 's3'
  bucket: string
  /** Region of the bucket; `auto` for R2. */
  region: string
  /** URL of a service other than AWS. Buckets are then addressed by path, and credentials are required. */
  endpoint?: string | undefined
  accessKeyId?: string | undefined
  secretAccessKey?: string | undefined
  /** Key prefix to mount in place of the whole bucket. Slashes around it do not count. */
  prefix?: string | undefined
  /** Default false. */
  readOnly?: boolean | undefined
}

/** A Google Cloud Storage bucket, mounted with gcsfuse. Without a key it is mounted read-only as a public one. */
export interface E2BGCSMountConfig extends FilesystemMountConfig {
  type: 'gcs'
  bucket: string
  /** JSON text of a service account's key. */
  serviceAccountKey?: string | undefined
  /** Directory of the bucket to mount in place of the whole. */
  prefix?: string | undefined
  /** Default false. */
  readOnly?: boolean | undefined
}

/**
 * An Azure Blob container, mounted with blobfuse2. The first of these that is given authenticates:
 * `useDefaultCredential` (managed identity, in Azure only), `sasToken`, `accountKey`, `connectionString`.
 */
export interface E2BAzureBlobMountConfig extends FilesystemMountConfig {
  type: 'azure-blob'
  container: string
  /** Storage account; may stand in the connection string instead. */
  accountName?: string | undefined
  accountKey?: string | undefined
  /** Shared access signature, with or without the leading `?`. */
  sasToken?: string | undefined
  connectionString?: string | undefined
  useDefaultCredential?: boolean | undefined
  /** Blob endpoint of a cloud other than the public one, or of Azurite. */
  endpoint?: string | undefined
  /** Directory of the container to mount in place of the whole. */
  prefix?: string | undefined
  /** Default false. */
  readOnly?: boolean | undefined
}

/** What {@link E2BSandbox.mount} can mount. */
export type E2BMountConfig = E2BS3MountConfig | E2BGCSMountConfig | E2BAzureBlobMountConfig
