lab: wrong data: fstat(2): size of a file through an older descriptor

A fresh file system was made and mounted. It is labfs, a small journalling
file system that comes with assay and has seeded bugs; it is linked in as a
library:
  | lab:bug=3
Then 3 calls were made (what is left of 6 after those were dropped that do
not matter):
   1. fd0 = open("/f", O_RDWR | O_CREAT, 0644)
   2. truncate("/f", 1)
   3. fstat(fd0, &st)

What was expected:
  What a call returns must be what the calls before it have left there: the
  bytes that were written, the names that were made, the attributes that
  were set.
  Manual page of the call: fstat(2).
  Here that is:
  | 1

What happened:
  | op 3: fstat $0: size 0
An operation succeeded, but it returned the wrong data.

How sure this is:
  It was met 1 time. The steps above failed in 3 of 3 runs.
  It failed every time, so it does not depend on luck.
  Before you report it, see it once without assay: the model can be wrong,
  too.

To see it again:
    assay replay WHICH
  Without assay: repro.sh in the folder of the finding. `assay report
  --mail` prints the text for the maintainer.
