// adc opt --passes=distribute-terms
// Strips of 64 iterations: their terms are computed first, side by side, and then added one after the other, since two
// subscripts may be equal.

func.func @f(%x: memref<?xf64>, %k: memref<?xindex>, %a: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = memref.load %k[%i] : memref<?xindex>
    %b = memref.load %a[%i] : memref<?xf64>
    %term = math.sin %b : f64
    adc.accumulate %term, %x[%at] : memref<?xf64>
    scf.reduce()
  } {adc.private = true}
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %k: memref<?xindex>, %a: memref<?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c64 = arith.constant 64 : index
  %c0_0 = arith.constant 0 : index
  %0 = arith.maxsi %n, %c0_0 : index
  %1 = arith.ceildivsi %0, %c64 : index
  %c0_1 = arith.constant 0 : index
  %c1_0 = arith.constant 1 : index
  scf.for %strip = %c0_1 to %1 step %c1_0 {
    %2 = arith.muli %strip, %c64 : index
    %3 = arith.addi %c0, %2 : index
    %4 = arith.subi %n, %3 : index
    %5 = arith.minsi %4, %c64 : index
    %6 = arith.addi %3, %5 : index
    %7 = memref.alloc() : memref<64xf64>
    scf.parallel (%i) = (%3) to (%6) step (%c1) {
      %at = memref.load %k[%i] : memref<?xindex>
      %b = memref.load %a[%i] : memref<?xf64>
      %term = math.sin %b : f64
      %8 = arith.subi %i, %3 : index
      memref.store %term, %7[%8] : memref<64xf64>
      scf.reduce()
    } {adc.trips = 64}
    scf.for %i_0 = %3 to %6 step %c1 {
      %9 = arith.subi %i_0, %3 : index
      %10 = memref.load %7[%9] : memref<64xf64>
      %at_0 = memref.load %k[%i_0] : memref<?xindex>
      adc.accumulate %10, %x[%at_0] : memref<?xf64>
      scf.yield
    } {adc.trips = 64}
    scf.yield
  } {adc.one_by_one = true}
  func.return
}
