import { randomUUID } from 'node:crypto'
import { generate } from 'selfsigned'

export interface ServerCertificate {
  /** PEM of the authority a client has to trust. */
  readonly certificateAuthority: string
  /** PEM of the leaf for `localhost`, `127.0.0.1` and `::1`. */
  readonly certificate: string
  readonly privateKey: string
}

/**
 * A throwaway authority and a leaf signed by it. An authority of its own, not one self-signed leaf, because that is the
 * shape of a company's private CA, and because OpenSSL, git and Node agree on how to trust it. Its name is its own: of two
 * authorities with one name, a client that trusts both would look at the first only.
 */
export const createServerCertificate = async (): Promise<ServerCertificate> => {
  const authority = await generate([{ name: 'commonName', value: `Warmbox loopback authority ${randomUUID()}` }], {
    keyType: 'ec',
    algorithm: 'sha256',
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', keyCertSign: true, cRLSign: true, critical: true },
    ],
  })
  const leaf = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    ca: { key: authority.private, cert: authority.cert },
    extensions: [
      { name: 'basicConstraints', cA: false, critical: true },
      { name: 'keyUsage', digitalSignature: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  return { certificateAuthority: authority.cert, certificate: leaf.cert, privateKey: leaf.private }
}
