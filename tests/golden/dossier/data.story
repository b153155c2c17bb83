lab: wrong data: fstat(2): size of a file through an older descriptor

A fresh file system was made and mounted. It is labfs, a small journalling
file system that comes with assay and has seeded bugs; it is linked in as a
library:
  | lab:bug=3
Then 4 calls were made:
   1. fd0 = open("/f", O_RDWR | O_CREAT, 0644)
   2. pwrite(fd0, pattern(1), 500, 0)
   3. truncate("/f", 5000)
   4. fstat(fd0, &st)
  pattern(N) is a buffer of bytes that depend on N and on the offset: see
  repro.c.

What was expected:
  What a call returns must be what the calls before it have left there: the
  bytes that were written, the names that were made, the attributes that
  were set.
  Manual page of the call: fstat(2).
  Here that is:
  | 5000

What happened:
  | op 4: fstat $0: size 500
An operation succeeded, but it returned the wrong data.

How sure this is:
  It was met 1 time. The steps were not reduced, and perhaps most of them
  are not needed.
  Before you report it, see it once without assay: the model can be wrong,
  too.

To see it again:
    assay replay WHICH
  Without assay: repro.sh in the folder of the finding. `assay report
  --mail` prints the text for the maintainer.
