import { type MarkerSet, markerSet } from '../../reader/markers.ts'

/** Tags of calls that have an element for each argument: `<invoke name="x"><parameter name="a">1</parameter></invoke>`. */
export interface Tags {
  /** The start of a call's opening tag, such as `<invoke`. */
  readonly call: readonly string[]
  readonly closeCall: readonly string[]
  readonly parameter: readonly string[]
  readonly closeParameter: readonly string[]
  /** Tags that are ignored and may surround parameters. */
  readonly wrap: readonly string[]
  /** The closing tags accepted for the element that wraps the calls. */
  readonly closeWrap: readonly string[]
}

/** The tags, compiled into sets of markers that may follow each part of a call. */
export interface CallTags extends Tags {
  /** Tags that may follow the opening tag of the element around the calls. */
  readonly first: MarkerSet
  /** Tags that may follow a parameter. Includes `{`, which starts arguments as JSON. */
  readonly between: MarkerSet
  /** Tags that end stray text between parameters. */
  readonly behindOther: MarkerSet
  /** Markers that may end a value. */
  readonly inValue: MarkerSet
  /** Tags that may follow the closing tag of a value or of a call. */
  readonly afterValue: MarkerSet
  readonly afterCall: MarkerSet
}

export function callTags(tags: Tags): CallTags {
  const { call, closeCall, parameter, closeParameter, wrap, closeWrap } = tags
  return {
    ...tags,
    first: markerSet([...call, ...wrap]),
    between: markerSet([...parameter, ...closeCall, ...wrap, ...closeWrap, '{']),
    behindOther: markerSet(['<!--', ...parameter, ...closeCall, ...closeWrap, ...call]),
    inValue: markerSet([...closeParameter, ...closeCall, ...parameter, ...call]),
    afterValue: markerSet([...parameter, ...closeCall, ...wrap, ...closeWrap]),
    afterCall: markerSet([...call, ...closeWrap]),
  }
}
