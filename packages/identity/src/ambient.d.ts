/** All this package asks of its host beside the language itself; every JavaScript runtime has both. */
declare class URL {
  constructor(url: string)
  readonly hostname: string
}

declare class TextEncoder {
  encodeInto(source: string, destination: Uint8Array): { readonly read: number; readonly written: number }
}
