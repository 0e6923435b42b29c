import type { MastraModelConfig } from '@mastra/core/llm'

/** What the model says in one turn: calls of tools, or the text it ends with. */
export type Turn =
  | { readonly say: string }
  | { readonly calls: readonly { readonly tool: string; readonly input: Readonly<Record<string, unknown>> }[] }

type Calls = Extract<Turn, { calls: unknown }>['calls']

/** Results of the tools called so far, in order, as the model sees them. */
export type Results = readonly string[]

/** The AI SDK's model interface, as core names it among the models an agent takes. */
type Model = Extract<
  MastraModelConfig,
  { readonly specificationVersion: 'v2'; doGenerate(options: never): PromiseLike<{ content: unknown }> }
>
type StreamResult = Awaited<ReturnType<Model['doStream']>>
type StreamPart = StreamResult['stream'] extends ReadableStream<infer Part> ? Part : never
type Prompt = Parameters<Model['doStream']>[0]['prompt']

/**
 * A language model that follows a script in place of thinking: turn by turn, each made from the results of the tools so
 * far. No key, no network.
 */
export function scriptedModel(script: readonly ((results: Results) => Turn)[]): Model {
  let step = 0
  const next = (prompt: Prompt): Turn => {
    const turn = script[step]
    if (turn === undefined) throw new Error(`The script ends after ${script.length} turns`)
    step += 1
    return turn(resultsIn(prompt))
  }
  return {
    specificationVersion: 'v2',
    provider: 'scripted',
    modelId: 'scripted',
    supportedUrls: {},
    doStream: async ({ prompt }) => ({ stream: streamOf(partsOf(next(prompt), step)) }),
    doGenerate: async () => {
      throw new Error('The scripted model answers as a stream only')
    },
  }
}

function resultsIn(prompt: Prompt): Results {
  return prompt.flatMap((message) =>
    message.role === 'tool'
      ? message.content.map(({ output }) =>
          typeof output.value === 'string' ? output.value : JSON.stringify(output.value),
        )
      : [],
  )
}

function partsOf(turn: Turn, step: number): StreamPart[] {
  const isCall = 'calls' in turn
  return [
    { type: 'stream-start', warnings: [] },
    ...(isCall ? callParts(turn.calls, step) : textParts(turn.say, step)),
    {
      type: 'finish',
      finishReason: isCall ? 'tool-calls' : 'stop',
      usage: { inputTokens: 0, outputTokens: 0, totalTokens: 0 },
    },
  ]
}

const callParts = (calls: Calls, step: number): StreamPart[] =>
  calls.map(({ tool, input }, index) => ({
    type: 'tool-call',
    toolCallId: `call-${step}-${index}`,
    toolName: tool,
    input: JSON.stringify(input),
  }))

const textParts = (text: string, step: number): StreamPart[] => {
  const id = `text-${step}`
  return [
    { type: 'text-start', id },
    { type: 'text-delta', id, delta: text },
    { type: 'text-end', id },
  ]
}

const streamOf = (parts: readonly StreamPart[]): ReadableStream<StreamPart> =>
  new ReadableStream({
    start(controller) {
      for (const part of parts) controller.enqueue(part)
      controller.close()
    },
  })
