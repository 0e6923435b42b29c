/** An answer that is an error, in the shape every route of envd uses. */
export function errorAnswer(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return jsonAnswer(status, { code: status, message }, headers)
}

export function jsonAnswer(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8', ...headers },
  })
}

/** What the platform's proxy says for a sandbox that does not run, whatever was asked. */
export function sandboxNotFoundAnswer(sandboxId: string): Response {
  return jsonAnswer(502, { sandboxId, message: 'The sandbox was not found', code: 502 })
}
