/** Where something is being read: grey lines in its place, which appear when that takes longer than 150 ms. */
export const Skeleton = ({ lines }: { lines: number }) => (
  <div class="skeleton" role="status" aria-label="Loading">
    {Array.from({ length: lines }, (_, index) => (
      <span key={index} />
    ))}
  </div>
);
