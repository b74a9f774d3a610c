/** Errors of building the image, with a message for people. */
export class ImageError extends Error {
  override readonly name: string = 'ImageError';
}

/** This machine lacks what a build needs. */
export class NoBuilderError extends ImageError {
  override readonly name = 'NoBuilderError';
}
