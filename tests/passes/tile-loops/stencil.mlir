// adc opt --passes=tile-loops{tile=64},tidy
// The inner loop in blocks of 64 iterations, around which the outer one goes: three rows of a block stay in cache.

func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %m: index) {
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c1) to (%n) step (%c1) {
    %above = arith.subi %i, %c1 : index
    scf.parallel (%j) = (%c1) to (%m) step (%c1) {
      %a = memref.load %x[%i, %j] : memref<?x?xf64>
      %b = memref.load %x[%above, %j] : memref<?x?xf64>
      %s = arith.addf %a, %b : f64
      memref.store %s, %y[%i, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {threads = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %y: memref<?x?xf64>, %n: index, %m: index) {
  %c1 = arith.constant 1 : index
  %c-1 = arith.constant -1 : index
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %c2 = arith.constant 2 : index
  %0 = arith.maxsi %m, %c1 : index
  %1 = arith.addi %0, %c-1 : index
  %2 = arith.maxsi %n, %c1 : index
  %3 = arith.addi %2, %c-1 : index
  %4 = arith.cmpi sgt, %3, %c0 : index
  %5 = arith.select %4, %c64, %1 : index
  %6 = arith.maxsi %5, %c1 : index
  %7 = arith.maxsi %m, %c2 : index
  scf.for %block = %c1 to %7 step %6 {
    %8 = arith.addi %block, %6 : index
    %9 = arith.minsi %8, %0 : index
    scf.parallel (%i) = (%c1) to (%n) step (%c1) {
      %above = arith.addi %i, %c-1 : index
      scf.parallel (%j) = (%block) to (%9) step (%c1) {
        %a = memref.load %x[%i, %j] : memref<?x?xf64>
        %b = memref.load %x[%above, %j] : memref<?x?xf64>
        %s = arith.addf %a, %b : f64
        memref.store %s, %y[%i, %j] : memref<?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    } {threads = true}
    scf.yield
  } {adc.tiles = 64}
  func.return
}
