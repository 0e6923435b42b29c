import type { SecureContext } from 'node:tls'
import { RepoTemplateError } from '../errors.ts'

/** Raised where a file of certificates named by the environment cannot be read. */
export class CertificateFileError extends Error {
  override readonly name = 'CertificateFileError'
}

const certificate = /-----BEGIN (?:TRUSTED )?CERTIFICATE-----[\s\w+/=]+-----END (?:TRUSTED )?CERTIFICATE-----/

/** @throws RepoTemplateError `OPTION_TYPE` or `OPTION_INVALID` for what holds no certificate: it would be trusted in nothing. */
export const assertCertificates = (value: unknown): void => {
  if (value === undefined) return
  if (typeof value === 'string' && certificate.test(value)) return
  throw new RepoTemplateError({
    code: typeof value === 'string' ? 'OPTION_INVALID' : 'OPTION_TYPE',
    field: 'certificateAuthority',
    message: `certificateAuthority ${typeof value === 'string' ? 'holds no certificate' : 'must be a string'}`,
    hint: "Give the text of a PEM file, such as readFileSync(path, 'utf8') answers.",
  })
}

/** Variables that name a PEM file of authorities: Node's own, and git's. */
const variables = ['NODE_EXTRA_CA_CERTS', 'GIT_SSL_CAINFO'] as const

/**
 * Authorities to trust on top of the system's: the option's, and those of the files the environment names. Node reads
 * `NODE_EXTRA_CA_CERTS` at start only and forgets it as soon as a request names authorities of its own.
 */
export const extraCertificates = async (
  option: string | undefined,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<readonly string[]> => {
  const found = option === undefined ? [] : [option]
  for (const variable of variables) {
    const path = environment[variable]
    if (path === undefined || path === '') continue
    const { readFile } = await import('node:fs/promises')
    try {
      found.push(await readFile(path, 'utf8'))
    } catch (cause) {
      throw new CertificateFileError(`${variable} names a file that cannot be read`, { cause })
    }
  }
  return found
}

interface TlsModule {
  /** From Node 22.15 on. */
  readonly getCACertificates?: (type: 'default') => readonly string[]
  /** Those Node came with. */
  readonly rootCertificates: readonly string[]
}

/** The authorities this runtime trusts by itself, in PEM. */
export const systemCertificates = async (): Promise<readonly string[]> => {
  const tls: TlsModule = await import('node:tls')
  return tls.getCACertificates?.('default') ?? tls.rootCertificates
}

let last: { readonly certificates: string; readonly context: SecureContext } | undefined

/**
 * What trusts these authorities on top of the system's, `undefined` where there are none: then the runtime's own will do.
 * The last one is kept, because reading a few hundred certificates takes longer than the lookup they are for.
 */
export const trustContext = async (certificates: readonly string[]): Promise<SecureContext | undefined> => {
  if (certificates.length === 0) return undefined
  const text = certificates.join('\n')
  if (last?.certificates !== text) {
    const { createSecureContext } = await import('node:tls')
    last = {
      certificates: text,
      context: createSecureContext({ ca: [...(await systemCertificates()), ...certificates] }),
    }
  }
  return last.context
}
