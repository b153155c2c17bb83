lab: after a power cut: persisted: a state from before fsync

A fresh file system was made and mounted. It is labfs, a small journalling
file system that comes with assay and has seeded bugs; it is linked in as a
library:
  | lab:bug=29
Then 4 calls were made, and the power was cut:
   1. mkdir("/a", 0755)
   2. fd0 = open("/f", O_RDWR | O_CREAT, 0644)
   3. link("/f", "/g")
   4. fsync(fd0)

What was expected:
  After a power cut the disk must be recoverable, and the recovered tree
  must be one that was promised: fsync(2), sync(2).
  The rule that is broken here: what an fsync or sync that returned made
  stable is there.

What happened:
  | power cut after op 5 `close $0` (view 1), recovered by mount:
  |   persisted: after fsync of /f at op 4, /f must exist; recovered tree
  |   has no /f
After a power cut, the tree is not one that was promised, or cannot be read.

How sure this is:
  It was met 1 time. The steps were not reduced, and perhaps most of them
  are not needed.
  Before you report it, see it once without assay: the model can be wrong,
  too.

To see it again:
    assay replay WHICH
  Without assay: repro.sh in the folder of the finding. `assay report
  --mail` prints the text for the maintainer.
