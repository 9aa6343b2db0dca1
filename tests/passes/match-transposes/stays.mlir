// adc opt --passes=match-transposes,tidy
// What may overlap, what computes, what is known to be narrow, and what has no loop of the other stay loops; not so the
// nest before that.

func.func @f(%x: memref<?x?xf64> {adc.alias = 0}, %y: memref<?x?xf64> {adc.alias = 0}, %z: memref<?x?xf64>, %w: memref<?x?x?xf64>, %m: index, %n: index) attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.parallel (%i0) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j0) = (%c0) to (%n) step (%c1) {
      %a0 = memref.load %x[%j0, %i0] : memref<?x?xf64>
      memref.store %a0, %y[%i0, %j0] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i1) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j1) = (%c0) to (%n) step (%c1) {
      %a1 = memref.load %x[%j1, %i1] : memref<?x?xf64>
      %b1 = math.sin %a1 : f64
      memref.store %b1, %z[%i1, %j1] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i2) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j2) = (%c0) to (%c3) step (%c1) {
      %a2 = memref.load %x[%j2, %i2] : memref<?x?xf64>
      memref.store %a2, %z[%i2, %j2] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i3) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j3) = (%c0) to (%n) step (%c1) {
      %a3 = memref.load %x[%j3, %i3] : memref<?x?xf64>
      memref.store %a3, %z[%i3, %j3] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i4) = (%c0) to (%m) step (%c1) {
    scf.parallel (%k4) = (%c0) to (%n) step (%c1) {
      scf.parallel (%j4) = (%c0) to (%n) step (%c1) {
        %a4 = memref.load %x[%k4, %j4] : memref<?x?xf64>
        memref.store %a4, %w[%j4, %k4, %i4] : memref<?x?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}

// becomes
func.func @f(%x: memref<?x?xf64> {adc.alias = 0}, %y: memref<?x?xf64> {adc.alias = 0}, %z: memref<?x?xf64>, %w: memref<?x?x?xf64>, %m: index, %n: index) attributes {adc.entry = true} {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  scf.parallel (%i0) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j0) = (%c0) to (%n) step (%c1) {
      %a0 = memref.load %x[%j0, %i0] : memref<?x?xf64>
      memref.store %a0, %y[%i0, %j0] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i1) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j1) = (%c0) to (%n) step (%c1) {
      %a1 = memref.load %x[%j1, %i1] : memref<?x?xf64>
      %b1 = math.sin %a1 : f64
      memref.store %b1, %z[%i1, %j1] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  scf.parallel (%i2) = (%c0) to (%m) step (%c1) {
    scf.parallel (%j2) = (%c0) to (%c3) step (%c1) {
      %a2 = memref.load %x[%j2, %i2] : memref<?x?xf64>
      memref.store %a2, %z[%i2, %j2] : memref<?x?xf64>
      scf.reduce()
    }
    scf.reduce()
  }
  %0 = arith.maxsi %m, %c0 : index
  %1 = arith.maxsi %n, %c0 : index
  %2 = memref.subview %x[%c0, %c0][%1, %0][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  %3 = memref.transpose %2 {permutation = [1, 0]} : memref<?x?xf64, strided<[?, 1], offset: ?>> to memref<?x?xf64, strided<[1, ?], offset: ?>>
  %4 = memref.subview %z[%c0, %c0][%0, %1][%c1, %c1] {static_steps = [1, 1]} : memref<?x?xf64> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  memref.copy %3, %4 : memref<?x?xf64, strided<[1, ?], offset: ?>> to memref<?x?xf64, strided<[?, 1], offset: ?>>
  scf.parallel (%i4) = (%c0) to (%m) step (%c1) {
    scf.parallel (%k4) = (%c0) to (%n) step (%c1) {
      scf.parallel (%j4) = (%c0) to (%n) step (%c1) {
        %a4 = memref.load %x[%k4, %j4] : memref<?x?xf64>
        memref.store %a4, %w[%j4, %k4, %i4] : memref<?x?x?xf64>
        scf.reduce()
      }
      scf.reduce()
    }
    scf.reduce()
  }
  func.return
}
