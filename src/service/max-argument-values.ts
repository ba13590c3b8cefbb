/**
 * The default limit on the number of values in a call's arguments. All values are validated, redacted and written within one turn of the
 * event loop.
 */
export const maxArgumentValues = 10_000
