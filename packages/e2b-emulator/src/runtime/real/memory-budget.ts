/** What a machine in memory may write beyond its image. */
const headroomBytes = 2 * 1024 ** 3

/**
 * The size of the memory a machine's files may take: its image and some room. Undefined where that is more than half of what
 * is available, which its processes and other machines need too; then it is kept on disk.
 */
export function memoryForFiles(imageBytes: number, availableBytes: number): number | undefined {
  const wanted = imageBytes + headroomBytes
  return wanted <= availableBytes / 2 ? wanted : undefined
}
