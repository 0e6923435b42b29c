/** Reported disk size. The emulator sets no limit. */
export const DISK_SIZE_MB = 25_600

/** The port envd listens on inside a sandbox. */
export const ENVD_PORT = 49_983

/** Deprecated field of the contract that still has to be there. */
export const CLIENT_ID = 'emulator'
