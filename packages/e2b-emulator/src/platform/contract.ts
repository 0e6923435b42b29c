import type { components, paths } from 'e2b'

/** The platform's contract, as the SDK publishes it. A changed contract shows as a type error in this package. */
export type Schemas = components['schemas']
export type RoutePath = keyof paths
export type Method = 'get' | 'put' | 'post' | 'patch' | 'delete'

/** The methods the contract describes for a path. */
export type MethodOf<P extends RoutePath> = {
  [M in Method]: [Exclude<paths[P][M], undefined>] extends [never] ? never : M
}[Method]

/** `get /sandboxes/{sandboxID}` and so on, for every operation of the contract. */
export type OperationName = { [P in RoutePath]: `${MethodOf<P>} ${P}` }[RoutePath]

type Content<T> = T extends { content: { 'application/json': infer Json } } ? Json : undefined

export type BodyOf<P extends RoutePath, M extends MethodOf<P>> = paths[P][M] extends { requestBody?: never }
  ? undefined
  : paths[P][M] extends { requestBody: infer Body }
    ? Content<Body>
    : paths[P][M] extends { requestBody?: infer Body }
      ? Content<Exclude<Body, undefined>> | undefined
      : undefined

type ParametersOf<P extends RoutePath, M extends MethodOf<P>, Kind extends 'path' | 'query'> = paths[P][M] extends {
  parameters: { [K in Kind]?: infer Found }
}
  ? keyof Exclude<Found, undefined> & string
  : never

export type PathParameterOf<P extends RoutePath, M extends MethodOf<P>> = ParametersOf<P, M, 'path'>
export type QueryParameterOf<P extends RoutePath, M extends MethodOf<P>> = ParametersOf<P, M, 'query'>

type Responses<P extends RoutePath, M extends MethodOf<P>> = paths[P][M] extends { responses: infer Found }
  ? Found
  : never

/** The statuses an operation answers when it succeeds; every refusal is an ApiError. */
export type SuccessOf<P extends RoutePath, M extends MethodOf<P>> = keyof Responses<P, M> & (200 | 201 | 202 | 204)

/** The body that belongs to a status, and headers; nothing where the contract has no content. */
export type ReplyContent<P extends RoutePath, M extends MethodOf<P>, S extends SuccessOf<P, M>> =
  Content<Responses<P, M>[S]> extends undefined
    ? []
    : [body: Content<Responses<P, M>[S]>, headers?: Readonly<Record<string, string>>]
