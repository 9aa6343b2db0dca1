// adc opt --passes=interleave{lanes=8},tidy
// Eight iterations take their steps together, as vectorise-outer has it, and each keeps a row of %t for itself. What they keep in
// one step is to be side by side: element k of row i is at [i / 8, k, i % 8].

func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %n = arith.constant 16 : index
  %t = memref.alloc(%n, %m) : memref<?x?xf64>
  scf.parallel (%block) = (%c0) to (%c2) step (%c1) {
    %first = arith.muli %block, %c8 : index
    scf.for %k = %c0 to %m step %c1 {
      scf.parallel (%lane) = (%c0) to (%c8) step (%c1) {
        %i = arith.addi %first, %lane : index
        %a = memref.load %x[%i] : memref<?xf64>
        memref.store %a, %t[%i, %k] : memref<?x?xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.for %k = %c0 to %m step %c1 {
      scf.parallel (%lane) = (%c0) to (%c8) step (%c1) {
        %i = arith.addi %first, %lane : index
        %a = memref.load %t[%i, %k] : memref<?x?xf64>
        %b = memref.load %y[%i] : memref<?xf64>
        %c = arith.mulf %a, %b : f64
        memref.store %c, %y[%i] : memref<?xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?xf64>, %y: memref<?xf64>, %m: index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c8 = arith.constant 8 : index
  %t = memref.alloc(%c2, %m) : memref<?x?x8xf64>
  scf.parallel (%block) = (%c0) to (%c2) step (%c1) {
    %first = arith.muli %block, %c8 : index
    scf.for %k = %c0 to %m step %c1 {
      scf.parallel (%lane) = (%c0) to (%c8) step (%c1) {
        %i = arith.addi %first, %lane : index
        %a = memref.load %x[%i] : memref<?xf64>
        memref.store %a, %t[%block, %k, %lane] : memref<?x?x8xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.for %k_0 = %c0 to %m step %c1 {
      scf.parallel (%lane_0) = (%c0) to (%c8) step (%c1) {
        %i_0 = arith.addi %first, %lane_0 : index
        %a_0 = memref.load %t[%block, %k_0, %lane_0] : memref<?x?x8xf64>
        %b = memref.load %y[%i_0] : memref<?xf64>
        %c = arith.mulf %a_0, %b : f64
        memref.store %c, %y[%i_0] : memref<?xf64>
        scf.reduce()
      } {adc.lanes = true}
      scf.yield
    }
    scf.reduce()
  }
  func.return
}
