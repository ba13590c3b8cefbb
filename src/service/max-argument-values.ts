/** The default limit for one call in the service. Arguments are validated, redacted and written within one turn of the event loop. */
export const maxArgumentValues = 10_000
