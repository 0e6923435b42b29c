import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { fromBinary } from '@bufbuild/protobuf'
import { FileDescriptorProtoSchema, type DescriptorProto, type FileDescriptorProto } from '@bufbuild/protobuf/wkt'
import { expect, test } from 'vitest'
import { file_filesystem_filesystem } from '../../src/envd/generated/filesystem/filesystem_pb.ts'
import { file_process_process } from '../../src/envd/generated/process/process_pb.ts'

/** The descriptors the SDK carries, by file name. */
async function sdkDescriptors(): Promise<ReadonlyMap<string, FileDescriptorProto>> {
  const bundle = await readFile(fileURLToPath(import.meta.resolve('e2b')), 'utf8')
  const files = [...bundle.matchAll(/fileDesc\)?\("([A-Za-z0-9+/=]+)"/g)].map(([, base64 = '']) =>
    fromBinary(FileDescriptorProtoSchema, Buffer.from(base64, 'base64')),
  )
  return new Map(files.map((file) => [file.name, file]))
}

/** All that a peer can tell: names, numbers, types, presence and streaming. Order and comments do not count. */
function contractOf(file: FileDescriptorProto): readonly string[] {
  const services = file.service.flatMap((service) =>
    service.method.map(
      (method) =>
        `${file.package}.${service.name}/${method.name}: ${method.clientStreaming} ${method.inputType} -> ` +
        `${method.serverStreaming} ${method.outputType}`,
    ),
  )
  const enums = file.enumType.flatMap(({ name, value }) =>
    value.map((entry) => `${file.package}.${name}.${entry.name} = ${entry.number}`),
  )
  return [...services, ...enums, ...file.messageType.flatMap((message) => fieldsOf(message, file.package))].toSorted()
}

function fieldsOf(message: DescriptorProto, scope: string): string[] {
  const name = `${scope}.${message.name}`
  const fields = message.field.map((field) => {
    const oneof = field.oneofIndex === undefined ? '' : message.oneofDecl[field.oneofIndex]?.name
    return `${name}.${field.name} = ${field.number}: ${field.label} ${field.type} ${field.typeName} ${oneof} ${field.proto3Optional}`
  })
  return [name, ...fields, ...message.nestedType.flatMap((nested) => fieldsOf(nested, name))]
}

test.each([
  ['process/process.proto', file_process_process],
  ['filesystem/filesystem.proto', file_filesystem_filesystem],
])('%s states what the SDK speaks', async (name, ours) => {
  const theirs = (await sdkDescriptors()).get(name)
  if (theirs === undefined) throw new Error(`the SDK carries no ${name}`)
  expect(contractOf(ours.proto)).toEqual(contractOf(theirs))
})
