// Far above real use; they keep one name affordable to compute, whatever a caller passes in. Lengths are UTF-16 code units.

/** Characters of a clone URL. */
export const URL_LENGTH = 2048

/** Characters of a working directory and of a salt. */
export const LINE_LENGTH = 1024

/** Characters of a setup command, of a build variable's value and of an extra input's value. */
export const VALUE_LENGTH = 32_768

/** Characters of a variable's name or version, of an extra input's key and of a Debian package. */
export const NAME_LENGTH = 256

/** Setup commands, build variables, extra inputs and Debian packages of one identity. */
export const ENTRIES = 256

/** Characters of a namespace, a name or a tag of a template ref. */
export const REF_PART_LENGTH = 128

/** Characters of a serialised template. */
export const TEMPLATE_LENGTH = 4_194_304
