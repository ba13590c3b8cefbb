/** The default limit on values in a call's arguments. They are validated, redacted and written within one turn of the event loop. */
export const maxArgumentValues = 10_000
