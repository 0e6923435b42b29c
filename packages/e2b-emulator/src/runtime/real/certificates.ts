import { existsSync, readFileSync } from 'node:fs'
import { rootCertificates } from 'node:tls'

/** Where distributions keep the bundle of trusted certificates. */
const bundlePaths = [
  '/etc/ssl/certs/ca-certificates.crt',
  '/etc/pki/tls/certs/ca-bundle.crt',
  '/etc/ssl/ca-bundle.pem',
  '/etc/ssl/cert.pem',
]

/** The bundle of the base image: what the host trusts (else what Node trusts) and the given authorities. */
export function certificateBundle(authorities: readonly string[]): string {
  const found = bundlePaths.find((path) => existsSync(path))
  const trusted = found === undefined ? rootCertificates.join('\n') : readFileSync(found, 'utf8')
  return [trusted, ...authorities].map((text) => `${text.trimEnd()}\n`).join('')
}

/** The other names programs look for; each links to the first. */
export const bundleFile = bundlePaths[0] ?? ''
export const bundleLinks = bundlePaths.slice(1)
