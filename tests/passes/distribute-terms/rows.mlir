// adc opt --passes=distribute-terms
// A row of three is written out: its terms are computed first, too.

func.func @f(%x: memref<?x?xf64>, %k: memref<?xindex>, %a: memref<?x?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.parallel (%i) = (%c0) to (%n) step (%c1) {
    %at = memref.load %k[%i] : memref<?xindex>
    scf.parallel (%j) = (%c0) to (%c3) step (%c1) {
      %b = memref.load %a[%i, %j] : memref<?x?xf64>
      %term = math.sin %b : f64
      adc.accumulate %term, %x[%at, %j] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  } {adc.private = true}
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64>, %k: memref<?xindex>, %a: memref<?x?xf64>, %n: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
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
    %8 = memref.alloc() : memref<64xf64>
    %9 = memref.alloc() : memref<64xf64>
    scf.parallel (%i) = (%3) to (%6) step (%c1) {
      %at = memref.load %k[%i] : memref<?xindex>
      %c0_2 = arith.constant 0 : index
      %b = memref.load %a[%i, %c0_2] : memref<?x?xf64>
      %term = math.sin %b : f64
      %c1_1 = arith.constant 1 : index
      %b_0 = memref.load %a[%i, %c1_1] : memref<?x?xf64>
      %term_0 = math.sin %b_0 : f64
      %c2 = arith.constant 2 : index
      %b_1 = memref.load %a[%i, %c2] : memref<?x?xf64>
      %term_1 = math.sin %b_1 : f64
      %10 = arith.subi %i, %3 : index
      memref.store %term, %7[%10] : memref<64xf64>
      memref.store %term_0, %8[%10] : memref<64xf64>
      memref.store %term_1, %9[%10] : memref<64xf64>
      scf.reduce()
    } {adc.trips = 64}
    scf.for %i_0 = %3 to %6 step %c1 {
      %11 = arith.subi %i_0, %3 : index
      %12 = memref.load %7[%11] : memref<64xf64>
      %13 = memref.load %8[%11] : memref<64xf64>
      %14 = memref.load %9[%11] : memref<64xf64>
      %at_0 = memref.load %k[%i_0] : memref<?xindex>
      %c0_3 = arith.constant 0 : index
      adc.accumulate %12, %x[%at_0, %c0_3] : memref<?x?xf64>
      %c1_2 = arith.constant 1 : index
      adc.accumulate %13, %x[%at_0, %c1_2] : memref<?x?xf64>
      %c2_0 = arith.constant 2 : index
      adc.accumulate %14, %x[%at_0, %c2_0] : memref<?x?xf64>
      scf.yield
    } {adc.trips = 64}
    scf.yield
  } {adc.one_by_one = true}
  func.return
}
